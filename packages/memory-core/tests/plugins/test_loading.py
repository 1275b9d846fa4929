"""Loading plugins: from entry points one by one, isolated from each other and from other runtimes."""

import logging

import pytest
from memory_core import PluginError, Plugins
from memory_core.builtin import memory_scorers

GOOD = """
    from memory_core import Provider, hookimpl

    @hookimpl
    def memory_scorers():
        return [Provider("{scorer}", lambda options: dict(options))]
"""


def good(scorer: str) -> str:
    return GOOD.format(scorer=scorer)


def report_of(plugins: Plugins, name: str):
    [report] = [report for report in plugins.reports if report.name == name]
    return report


def test_an_installed_package_is_found_by_its_entry_point(install):
    install("memory-extra", good("plain"), extra="memory_extra")
    plugins = Plugins.from_entry_points()
    report = report_of(plugins, "extra")
    assert (report.source, report.status) == ("memory-extra 1.2.3", "loaded")
    assert report.provides == {"memory_scorers": ["plain"]}
    assert "plain" in plugins.providers("memory_scorers")


def test_the_core_registers_through_the_same_hooks_as_everybody():
    plugins = Plugins.from_entry_points()
    assert report_of(plugins, "core").source.startswith("memory-core ")
    assert memory_scorers.memory_impl
    assert plugins.create("memory_scorers", "composite").score
    assert {tool.name for tool in plugins.create("memory_tools", "core")} >= {"memory_store_fact", "memory_forget"}


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import a_module_that_is_not_there", "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("def broken(:", "SyntaxError"),
        ("raise RuntimeError('no licence key')", "RuntimeError: no licence key"),
        ("import sys; sys.exit('go away')", "SystemExit: go away"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_logged_and_reported_and_the_others_load(install, caplog, source, error):
    install("memory-broken", source, broken="memory_broken")
    install("memory-extra", good("plain"), extra="memory_extra")
    with caplog.at_level(logging.ERROR):
        plugins = Plugins.from_entry_points()
    report = report_of(plugins, "broken")
    assert report.status == "broken"
    assert error in report.error
    assert report_of(plugins, "extra").status == "loaded"
    [record] = [record for record in caplog.records if "'broken'" in record.getMessage()]
    assert record.exc_info is not None, "the traceback is logged"


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        ("def memory_scorer():\n    return []", "unknown hook 'memory_scorer'"),
        ("def memory_scorers(config):\n    return []", "config"),
        ("def memory_scorers():\n    return None", "memory_scorers returned None; a hook returns a list of Provider"),
        ("def memory_scorers():\n    return 'mine'", "memory_scorers returned mine; a hook returns a list of Provider"),
        ("def memory_scorers():\n    return ['mine']", "a hook returns a list of Provider"),
        ("def memory_scorers():\n    return Provider('mine', dict)", "a hook returns a list of Provider"),
        ("def memory_scorers():\n    return [Provider('', dict)]", "a hook returns a list of Provider"),
        ("def memory_scorers():\n    return [Provider('mine', {})]", "a hook returns a list of Provider"),
        ("def memory_scorers():\n    return [Provider('mine', dict)] * 2", "one name twice: mine, mine"),
        ("def memory_scorers():\n    return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_plugin_whose_hook_is_wrong_is_left_out_whole_with_the_reason(install, hook, error):
    source = f"from memory_core import Provider, hookimpl\n\n@hookimpl\n{hook}\n\n"
    source += "@hookimpl\ndef memory_rerankers():\n    return [Provider('fine', dict)]\n"
    install("memory-wrong", source, wrong="memory_wrong")
    plugins = Plugins.from_entry_points()
    report = report_of(plugins, "wrong")
    assert report.status == "broken"
    assert error in report.error
    assert "fine" not in plugins.providers("memory_rerankers")
    assert "composite" in plugins.providers("memory_scorers")


def test_a_function_without_the_marker_is_not_a_hook(install):
    install("memory-plain", "def memory_scorers():\n    return 'not ours'", plain="memory_plain")
    report = report_of(Plugins.from_entry_points(), "plain")
    assert (report.status, report.provides) == ("loaded", {})


def test_two_packages_with_one_plugin_name_fail_the_start_naming_both(install):
    install("memory-one", good("one"), same="memory_one")
    install("memory-two", good("two"), same="memory_two")
    with pytest.raises(PluginError, match=r"plugin 'same' from memory-\w+ 1\.2\.3 has the name of one from memory-\w+"):
        Plugins.from_entry_points()


def test_two_plugins_that_provide_one_name_fail_the_start_naming_both(install):
    install("memory-one", good("mine"), one="memory_one")
    install("memory-two", good("mine"), two="memory_two")
    with pytest.raises(PluginError, match=r"plugins 'one' and 'two' both provide 'mine' through memory_scorers"):
        Plugins.from_entry_points()


def test_a_plugin_cannot_take_the_place_of_a_built_in(install):
    install("memory-sly", good("composite"), sly="memory_sly")
    with pytest.raises(PluginError, match="plugins 'core' and 'sly' both provide 'composite'"):
        Plugins.from_entry_points()


def test_a_disabled_plugin_is_not_even_imported_and_is_reported(install):
    install("memory-extra", "raise RuntimeError('was imported')", extra="memory_extra")
    plugins = Plugins.from_entry_points(disabled=["extra"])
    report = report_of(plugins, "extra")
    assert (report.status, report.source, report.error) == ("disabled", "memory-extra 1.2.3", None)


def test_disabling_one_of_two_that_clash_resolves_the_clash(install):
    install("memory-one", good("mine"), one="memory_one")
    install("memory-two", good("mine"), two="memory_two")
    plugins = Plugins.from_entry_points({"mine": {"from": "config"}}, disabled=["one"])
    assert plugins.create("memory_scorers", "mine") == {"from": "config"}


def test_what_one_runtime_registers_another_does_not_have(install):
    class Mine:
        @staticmethod
        def memory_rerankers():
            return []

    first, second = Plugins(), Plugins()
    first.register(Mine, "mine")
    assert [report.name for report in first.reports] == ["mine"]
    assert second.reports == []


def test_a_program_can_register_a_plugin_but_no_name_twice(install):
    plugins = Plugins(disabled=["off"])
    plugins.register(object(), "mine")
    plugins.register(object(), "off")
    assert [(report.name, report.status) for report in plugins.reports] == [("mine", "loaded"), ("off", "disabled")]
    with pytest.raises(PluginError, match="plugin 'mine' from registered by the program has the name of one"):
        plugins.register(object(), "mine")


def test_a_program_that_registers_a_wrong_plugin_gets_the_error_and_keeps_the_name_free():
    from memory_core import hookimpl

    class Wrong:
        @hookimpl
        def memory_nothing(self):
            return []

    plugins = Plugins()
    with pytest.raises(PluginError, match=r"plugin 'mine' cannot be used: .*unknown hook 'memory_nothing'"):
        plugins.register(Wrong(), "mine")
    plugins.register(object(), "mine")


def test_hooks_are_called_once_however_often_they_are_asked(install):
    source = """
        from memory_core import Provider, hookimpl

        CALLS = []

        @hookimpl
        def memory_scorers():
            CALLS.append(1)
            return [Provider("counted", lambda options: len(CALLS))]
    """
    install("memory-counted", source, counted="memory_counted")
    plugins = Plugins.from_entry_points()
    plugins.providers("memory_scorers")
    assert plugins.create("memory_scorers", "counted") == 1
